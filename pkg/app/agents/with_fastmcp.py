# fastmcp of PyPI: its own OAuth client, which registers, opens a browser and
# listens for the redirect.
import os
import threading
import urllib.request
import webbrowser

os.environ['FASTMCP_CHECK_FOR_UPDATES'] = 'off'

import httpx2
from fastmcp import Client
from fastmcp.client.auth import OAuth
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StreamableHttpTransport

from conversation import SignIn, agrees, answer, read, run, task

browser = SignIn()


def visit():  # the browser: it ends at the client's own listener
    sent = read()['sent']
    while True:  # the listener may start after the person's answer
        try:
            return urllib.request.urlopen(sent, timeout=300).read()
        except ConnectionRefusedError:
            pass
        except urllib.error.URLError as e:
            if not isinstance(e.reason, ConnectionRefusedError):
                raise


def opened(address):
    browser.open(address)
    threading.Thread(target=visit, daemon=True).start()


webbrowser.open = opened


def http(**options):
    return httpx2.AsyncClient(**{**options, 'timeout': 300})


async def asked(message, response_type, params, context):
    return {'agreed': True} if agrees(message) else ElicitResult(action='decline')


async def main():
    extra = {'application_type': 'native'}
    if task['clientSecret']:
        extra['token_endpoint_auth_method'] = 'client_secret_basic'
    auth = OAuth(client_name='Planner', client_id=task['clientId'] or None, client_secret=task['clientSecret'] or None,
                 client_metadata_url=task['document'] or None, callback_host='127.0.0.1', callback_port=task['port'],
                 additional_client_metadata=extra, httpx_client_factory=http)
    transport = StreamableHttpTransport(task['url'], auth=auth, httpx_client_factory=http)
    async with Client(transport, elicitation_handler=asked, timeout=300, init_timeout=300) as client:
        tokens = await auth.token_storage_adapter.get_tokens()
        known = await auth.token_storage_adapter.get_client_info()
        await answer(tokens, known.client_id, client.list_tools, client.call_tool_mcp)


run(main)
