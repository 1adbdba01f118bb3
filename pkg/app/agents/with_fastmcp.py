# fastmcp of PyPI: its own OAuth client, which registers, opens a browser and
# listens for the redirect. It has the same conversation with the test as
# client.mjs.
import asyncio
import json
import os
import sys
import threading
import urllib.request
import webbrowser

os.environ['FASTMCP_CHECK_FOR_UPDATES'] = 'off'

import httpx2
from fastmcp import Client
from fastmcp.client.auth import OAuth
from fastmcp.client.transports import StreamableHttpTransport


def say(message):
    print(json.dumps(message), flush=True)


def read():
    return json.loads(sys.stdin.readline() or '{}')


task = read()


def visit(address):  # the browser: it ends at the client's own listener
    say({'open': address})
    sent = read()['sent']
    while True:  # the listener may start after the person's answer
        try:
            return urllib.request.urlopen(sent, timeout=300).read()
        except ConnectionRefusedError:
            pass
        except urllib.error.URLError as e:
            if not isinstance(e.reason, ConnectionRefusedError):
                raise


opened = []


def browser(address):
    if opened:
        raise RuntimeError('the person has to sign in again')
    opened.append(address)
    threading.Thread(target=visit, args=[address], daemon=True).start()


webbrowser.open = browser


def http(**options):
    return httpx2.AsyncClient(**{**options, 'timeout': 300})


async def asked(message, response_type, params, context):
    say({'ask': message})
    if not read()['agree']:
        from fastmcp.client.elicitation import ElicitResult
        return ElicitResult(action='decline')
    return {'agreed': True}


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
        say({'ready': {'refresh': tokens.refresh_token, 'access': tokens.access_token, 'clientId': known.client_id}})
        while request := read():
            try:
                if request['method'] == 'tools/list':
                    say({'result': {'tools': [tool.name for tool in await client.list_tools()]}})
                else:
                    result = await client.call_tool_mcp(request['name'], request['arguments'])
                    say({'result': result.model_dump(by_alias=True, mode='json')})
            except Exception as e:
                say({'failed': repr(e)})


try:
    asyncio.run(main())
except Exception as e:  # a lost sign-in ends the connection
    say({'failed': repr(e)})
    raise
