# The conversation of a client with the test, one line of JSON at a time. It is
# that of client.mjs.
import asyncio
import json
import sys


def say(message):
    print(json.dumps(message), flush=True)


def read():
    return json.loads(sys.stdin.readline() or '{}')


task = read()


def agrees(question):
    say({'ask': question})
    return read()['agree']


def reason(e):
    return '; '.join(map(reason, e.exceptions)) if isinstance(e, BaseExceptionGroup) else repr(e)


class SignIn:
    """The person's browser. It is opened once."""

    def __init__(self):
        self.opened = False

    def open(self, address):
        if self.opened:
            raise RuntimeError('the person has to sign in again')
        self.opened = True
        say({'open': address})


async def answer(tokens, client_id, list_tools, call_tool):
    """Answers the test's requests until it ends the conversation."""
    say({'ready': {'refresh': tokens.refresh_token, 'access': tokens.access_token, 'clientId': client_id}})
    while request := read():
        try:
            if request['method'] == 'tools/list':
                say({'result': {'tools': [tool.name for tool in await list_tools()]}})
            else:
                result = await call_tool(request['name'], request['arguments'])
                say({'result': result.model_dump(by_alias=True, mode='json')})
        except Exception as e:
            say({'failed': reason(e)})


def run(main):
    try:
        asyncio.run(main())
    except Exception as e:  # a lost sign-in ends the connection
        say({'failed': reason(e)})
        raise
