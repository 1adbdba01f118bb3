// @ai-sdk/mcp: lists the events of an operator's company, subscribes to one, receives
// it, renews the subscription, and ends it. Reads the address of the server and an
// access token. Writes a line for each thing that it did.
import { createServer } from 'node:http'
import { createMCPClient, experimental_createMCPEventWebhook as createMCPEventWebhook } from '@ai-sdk/mcp'

const [url, token] = process.argv.slice(2)
const say = (message) => console.log(JSON.stringify(message))

const kept = new Map()
const store = {
  get: async (key) => kept.get(key),
  getById: async (id) => [...kept.values()].find((one) => one.id === id),
  set: async (one) => { kept.set(one.key, one) },
  update: async (key, patch) => { kept.set(key, { ...kept.get(key), ...patch }) },
  delete: async (key) => { kept.delete(key) },
}

let arrived
const first = new Promise((resolve) => { arrived = resolve })
const receive = createMCPEventWebhook({ store, onEvent: async (one) => arrived(one), onError: (e) => console.error(e) })
const receiver = createServer(async (request, response) => {
  const parts = []
  for await (const part of request) parts.push(part)
  const answer = await receive(new Request(`http://127.0.0.1${request.url}`,
    { method: request.method, headers: request.headers, body: Buffer.concat(parts) }))
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()))
})
await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve))

const client = await createMCPClient({
  transport: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } },
  experimental_events: { store },
})
const events = client.experimental_events
say({ listed: (await events.list()).events.map((one) => one.name) })
const { id } = await events.subscribe({
  name: 'trip.requested',
  delivery: { mode: 'webhook', url: `http://127.0.0.1:${receiver.address().port}/`, allowInsecureLocalhost: true },
})
say({ subscribed: id })
const { event, subscription } = await first
say({ event, subscribed: subscription.id })
say({ renewed: (await events.refresh({ id })).id })
await events.unsubscribe({ id })
say({ ended: id })
process.exit(0)
