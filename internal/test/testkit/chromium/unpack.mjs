// node unpack.mjs DIR: unpacks the Chromium of the npm package into DIR, with the libraries and fonts that it needs,
// and writes DIR/chrome, which starts it.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'

const dir = process.argv[2]
const unpacked = (name) =>
  brotliDecompressSync(readFileSync(new URL(`node_modules/@sparticuz/chromium/bin/${name}.br`, import.meta.url)))

mkdirSync(dir, { recursive: true })
writeFileSync(join(dir, 'chromium'), unpacked('chromium'), { mode: 0o755 })
for (const name of ['al2023.tar', 'swiftshader.tar', 'fonts.tar']) {
  const archive = join(dir, name)
  writeFileSync(archive, unpacked(name))
  execFileSync('tar', ['-xf', archive, '--no-same-owner', '-C', dir], { stdio: 'inherit' })
  rmSync(archive)
}
writeFileSync(join(dir, 'fonts.conf'), `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir prefix="relative">fonts</dir>
</fontconfig>
`)
writeFileSync(join(dir, 'chrome'), `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
export LD_LIBRARY_PATH="$here/lib" FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/chromium" "$@"
`, { mode: 0o755 })
