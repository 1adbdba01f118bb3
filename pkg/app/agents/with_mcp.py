# mcp of PyPI: discovery, registration, code with PKCE, tools.
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from mcp.types import ElicitResult

from conversation import SignIn, agrees, answer, read, run, task

metadata = {'client_name': 'Planner', 'redirect_uris': [task['redirect']], 'application_type': 'native',
            'token_endpoint_auth_method': 'none'}


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


storage, browser = Storage(), SignIn()
if task['clientId']:
    known = {'client_id': task['clientId'], 'client_secret': task['clientSecret'] or None,
             'token_endpoint_auth_method': 'client_secret_basic' if task['clientSecret'] else 'none'}
    storage.client = OAuthClientInformationFull(**{**metadata, **known})


async def opened(address):
    browser.open(address)


async def sent():
    query = {name: values[0] for name, values in parse_qs(urlsplit(read()['sent']).query).items()}
    return AuthorizationCodeResult(code=query['code'], state=query['state'], iss=query['iss'])


async def asked(context, params):
    if agrees(params.message):
        return ElicitResult(action='accept', content={'agreed': True})
    return ElicitResult(action='decline')


async def main():
    provider = OAuthClientProvider(task['url'], OAuthClientMetadata(**metadata), storage, opened, sent,
                                   client_metadata_url=task['document'] or None)
    async with httpx2.AsyncClient(auth=provider, timeout=300) as http:
        transport = streamable_http_client(task['url'], http_client=http)
        async with Client(transport, elicitation_callback=asked, mode=task['mode'] or 'auto') as client:
            async def tools():
                return (await client.list_tools()).tools
            await answer(storage.tokens, storage.client.client_id, tools, client.call_tool)


run(main)
