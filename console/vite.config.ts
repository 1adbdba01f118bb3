import { defineConfig } from 'vite'

// One script and one style sheet, with hashes in their names. No inline script: the
// console's policy forbids it.
export default defineConfig({
  base: '/console/',
  build: { outDir: 'dist', assetsDir: '.', modulePreload: { polyfill: false }, assetsInlineLimit: 0, cssCodeSplit: false,
    license: { fileName: 'licenses.md' } },
})
