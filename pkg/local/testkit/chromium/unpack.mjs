// node unpack.mjs DIR: unpacks the Chromium of the npm package into DIR, with the libraries and fonts that it needs,
// and writes DIR/chrome, which starts it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'

const dir = process.argv[2]
const packed = (name) => [
  createReadStream(new URL(`node_modules/@sparticuz/chromium/bin/${name}`, import.meta.url)), createBrotliDecompress(),
]

mkdirSync(dir, { recursive: true })
await pipeline(...packed('chromium.br'), createWriteStream(join(dir, 'chromium'), { mode: 0o755 }))
for (const name of ['al2023.tar.br', 'swiftshader.tar.br', 'fonts.tar.br']) {
  const tar = spawn('tar', ['-x', '--no-same-owner', '-C', dir], { stdio: ['pipe', 'inherit', 'inherit'] })
  const ended = once(tar, 'exit')
  await pipeline(...packed(name), tar.stdin)
  const [code] = await ended
  if (code !== 0) throw new Error(`tar of ${name} ended with ${code}`)
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
