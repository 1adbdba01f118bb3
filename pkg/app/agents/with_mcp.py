# mcp of PyPI: discovery, registration, code with PKCE, tools. It has the same
# conversation with the test as client.mjs.
import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from mcp.types import ElicitResult


def say(message):
    print(json.dumps(message), flush=True)


def read():
    return json.loads(sys.stdin.readline() or '{}')


task = read()
metadata = {'client_name': 'Planner', 'redirect_uris': [task['redirect']], 'application_type': 'native', 'token_endpoint_auth_method': 'none'}


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


storage = Storage()
if task['clientId']:
    storage.client = OAuthClientInformationFull(**{**metadata, 'client_id': task['clientId'], 'client_secret': task['clientSecret'] or None,
                                                   'token_endpoint_auth_method': 'client_secret_basic' if task['clientSecret'] else 'none'})


async def opened(address):
    if storage.tokens:
        raise RuntimeError('the person has to sign in again')
    say({'open': address})


async def sent():
    query = {name: values[0] for name, values in parse_qs(urlsplit(read()['sent']).query).items()}
    return AuthorizationCodeResult(code=query['code'], state=query['state'], iss=query['iss'])


async def asked(context, params):
    say({'ask': params.message})
    return ElicitResult(action='accept', content={'agreed': True}) if read()['agree'] else ElicitResult(action='decline')


def reason(e):
    return '; '.join(map(reason, e.exceptions)) if isinstance(e, BaseExceptionGroup) else repr(e)


async def main():
    provider = OAuthClientProvider(task['url'], OAuthClientMetadata(**metadata), storage, opened, sent, client_metadata_url=task['document'] or None)
    async with httpx2.AsyncClient(auth=provider, timeout=300) as http:
        async with Client(streamable_http_client(task['url'], http_client=http), elicitation_callback=asked, mode=task['mode'] or 'auto') as client:
            say({'ready': {'refresh': storage.tokens.refresh_token, 'access': storage.tokens.access_token, 'clientId': storage.client.client_id}})
            while request := read():
                try:
                    if request['method'] == 'tools/list':
                        say({'result': {'tools': [tool.name for tool in (await client.list_tools()).tools]}})
                    else:
                        result = await client.call_tool(request['name'], request['arguments'])
                        say({'result': result.model_dump(by_alias=True, mode='json')})
                except Exception as e:
                    say({'failed': reason(e)})


try:
    asyncio.run(main())
except Exception as e:  # a lost sign-in ends the connection
    say({'failed': reason(e)})
    raise
