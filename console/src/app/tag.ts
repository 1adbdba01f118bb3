// The person's language tag. A system without a language may give the browser one that
// Intl refuses, such as en-US@posix, and libraries ask the browser too. So the tag is
// put right before anything else is loaded.
function valid(tag: string): string {
  try {
    return Intl.getCanonicalLocales(tag.replace(/[.@].*/, '').replaceAll('_', '-'))[0] ?? 'en'
  } catch {
    return 'en'
  }
}

export const tag = valid(String(navigator.language))
if (tag !== navigator.language) Object.defineProperty(navigator, 'language', { value: tag })
