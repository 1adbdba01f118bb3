// Converts the OpenAPI document of standard input to a Postman collection, as Postman's
// import does, and writes its requests. The argument is Postman's setting "Parameter
// generation": Schema or Example.
import { readFileSync } from 'node:fs'
import converter from 'openapi-to-postmanv2'

const data = readFileSync(0, 'utf8')
converter.convertV2({ type: 'string', data }, { parametersResolution: process.argv[2] }, (error, result) => {
  if (error || !result.result) throw error ?? new Error(result.reason)
  const requests = []
  const collect = (items) => {
    for (const { item, request } of items) {
      if (item) { collect(item); continue }
      const pairs = (list) => (list ?? []).map(({ key, value }) => [key, value])
      requests.push({ method: request.method, path: '/' + request.url.path.join('/'), query: pairs(request.url.query),
        header: pairs(request.header), body: request.body?.raw ?? '' })
    }
  }
  collect(result.output[0].data.item)
  process.stdout.write(JSON.stringify(requests))
})
