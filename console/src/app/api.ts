// The API as the document describes it. The types in openapi.d.ts are generated.
import createClient from 'openapi-fetch'
import type { components, paths } from '../openapi'
import { token } from './session'
import { clock } from './words'

export type Schemas = components['schemas']

// Failure is an answer of the API that is an error, or no answer at all (status 0).
export class Failure extends Error {
  constructor(readonly status: number, readonly code: string, text: string, readonly request: string,
    readonly details: { field: string; message: string }[] = [], readonly permission = '') {
    super(text)
  }
}

export const api = createClient<paths, 'application/json'>({
  baseUrl: location.origin,
  fetch: async (request: Request) => {
    const send = async (access: string) => {
      const copy = request.clone()
      copy.headers.set('Authorization', 'Bearer ' + access)
      return fetch(copy)
    }
    const answer = await send(await token())
    const date = Date.parse(answer.headers.get('Date') ?? '')
    if (!Number.isNaN(date)) clock.ahead = date - Date.now()
    // A token may have been revoked early, or this computer's clock was set back.
    return answer.status === 401 ? send(await token(true)) : answer
  },
})

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

// good returns the data of an answer, or throws a Failure.
export async function good<T>(asked: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>
  try {
    answer = await asked
  } catch (error) {
    throw new Failure(0, 'offline', String(error), '')
  }
  if (answer.response.ok) return answer.data as T
  const body = (answer.error ?? {}) as Partial<Schemas['ErrorBody']>
  throw new Failure(answer.response.status, body.error ?? 'server_error', body.error_description ?? '',
    answer.response.headers.get('X-Request-Id') ?? '', body.details ?? [],
    body.permission)
}

// tagged is good that also returns the state's name, for If-Match.
export async function tagged<T>(asked: Promise<Answer<T>>): Promise<{ data: T; tag: string }> {
  const data = await good(asked)
  return { data, tag: (await asked).response.headers.get('ETag') ?? '' }
}

// once is the parameter of a change that may be sent again without being made twice.
export const once = () => ({ header: { 'Idempotency-Key': crypto.randomUUID() } })
