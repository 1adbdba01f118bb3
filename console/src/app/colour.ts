// The company's colour, so that what is written in it and on it can be read: WCAG 2.2 asks
// for a contrast of 4.5.
type Colour = [number, number, number]

const white: Colour = [255, 255, 255]
const black: Colour = [0, 0, 0]
const contrast = 4.5

// The panels of both schemes in style.css: what is readable there is so on the page too.
const grounds: Record<string, Colour> = { light: [246, 246, 246], dark: [29, 29, 29] }

// parse reads #rgb, #rgba, #rrggbb or #rrggbbaa without its alpha part, null for anything else.
function parse(text: string): Colour | null {
  if (!/^#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(text)) return null
  const wide = text.length > 5 ? 2 : 1
  return [0, 1, 2].map(i => parseInt(text.slice(1 + i * wide, 1 + (i + 1) * wide).repeat(3 - wide), 16)) as Colour
}

const hex = (c: Colour) => '#' + c.map(v => Math.round(v).toString(16).padStart(2, '0')).join('')

function luminance(c: Colour): number {
  const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
}

function ratio(a: Colour, b: Colour): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (high! + 0.05) / (low! + 0.05)
}

// on is the colour of text on a ground: white or black, one of which can be read.
const on = (ground: Colour) => ratio(white, ground) >= contrast ? white : black

// readable moves a colour towards the one of text until it can be read on a ground.
function readable(c: Colour, ground: Colour): Colour {
  const end = on(ground)
  for (let part = 0; part < 1; part += 1 / 64) {
    const mixed = c.map((v, i) => Math.round(v + (end[i]! - v) * part)) as Colour
    if (ratio(mixed, ground) >= contrast) return mixed
  }
  return end
}

// shades returns the properties of style.css for a company's colour, none without a colour.
export function shades(text: string | null | undefined): Record<string, string> {
  const company = parse(text ?? '')
  if (company === null) return {}
  const found: Record<string, string> = { company: hex(company), 'on-company': hex(on(company)) }
  for (const [scheme, ground] of Object.entries(grounds)) {
    const main = readable(company, ground)
    found[`${scheme}-main`] = hex(main)
    found[`on-${scheme}-main`] = hex(on(main))
  }
  return found
}

// paint gives the page the company's colour, or its own without one.
export function paint(text: string | null | undefined) {
  const { style } = document.documentElement
  const found = shades(text)
  for (const name of Object.keys(shades('#000'))) {
    const value = found[name]
    if (value === undefined) style.removeProperty('--' + name)
    else style.setProperty('--' + name, value)
  }
}
