// What the whole console needs of the company's settings: its time zone and its own map.
import { api, good } from './api'
import { allowed } from './session'
import { usePolled } from './use'
import { clock } from './words'

export const map = { tiles: '', credit: '', tenant: '' }

// useCompany reads the settings, and reports whether they are known. Who may not read them
// sees this computer's time and no map of others.
export function useCompany(): boolean {
  const may = allowed('tenant.settings:read')
  const found = usePolled(() => may ? good(api.GET('/api/v1/settings')) : Promise.resolve(null), [], 60_000)
  if (found.data === null) return !may || found.failure !== null
  const { company, settings } = found.data
  clock.zone = company.timezone
  const tiles = settings.map?.tiles ?? ''
  Object.assign(map, { tiles, credit: settings.map?.credit ?? '', tenant: company.id })
  return tiles === '' || permitted(company.id, new URL(tiles).origin)
}

// permitted reports whether the policy of this page allows the map's origin. The service
// writes the policy when the page is loaded, so the page is loaded again if not.
function permitted(tenant: string, origin: string): boolean {
  const search = `?tenant=${tenant}`
  if (sessionStorage.getItem('map') === origin && location.search === search) return true
  sessionStorage.setItem('map', origin)
  if (location.search === search) location.reload()
  else location.replace(`/console/${search}${location.hash}`)
  return false
}
