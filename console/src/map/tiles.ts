// The company's own map below the canvas. Only a company that has one loads this file and
// the library.
import { Map as Library, setWorkerUrl, type StyleSpecification } from 'maplibre-gl'
import worker from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url'
import type { View } from './draw'

export interface Base {
  show: (view: View) => void
  remove: () => void
}

// lay puts the map into a box. failed is called if a part of it cannot be loaded.
export function lay(box: HTMLElement, tiles: string, tenant: string, failed: () => void): Base {
  setWorkerUrl(`${worker}?tenant=${tenant}`) // the worker's own policy allows the map's origin
  const images: StyleSpecification = { version: 8, layers: [{ id: 'map', type: 'raster', source: 'map' }],
    sources: { map: { type: 'raster', tiles: [tiles], tileSize: 256 } } }
  const map = new Library({ container: box, style: tiles.includes('{z}') ? images : tiles, interactive: false,
    attributionControl: false, fadeDuration: 0 })
  map.on('error', failed)
  return {
    // A world of 512 pixels is zoom 0.
    show: view => void map.jumpTo({ center: [view.lng, view.lat], zoom: Math.log2((view.scale * 360) / 512) }),
    remove: () => map.remove(),
  }
}
