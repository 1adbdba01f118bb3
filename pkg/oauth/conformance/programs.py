# authlib: client_credentials by a secret and by a key, and the device flow. Reads its task as
# the first line of standard input; writes the device's codes and its result to standard output.
import json
import os
import sys
import time

os.environ['AUTHLIB_INSECURE_TRANSPORT'] = '1'  # the service of a test is on this machine, without TLS

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc.jwk import ECKey


def say(message):
    print(json.dumps(message), flush=True)


task = json.loads(sys.stdin.readline())
method = 'client_secret_basic' if task['secret'] else 'private_key_jwt' if task['key'] else 'none'
session = OAuth2Session(task['id'], task['secret'] or task['key'] and ECKey.import_key(task['key']), token_endpoint_auth_method=method,
                        scope=task['scope'])
token_endpoint = session.get(task['issuer'] + '/.well-known/oauth-authorization-server', withhold_token=True).json()
device_endpoint, token_endpoint = token_endpoint['device_authorization_endpoint'], token_endpoint['token_endpoint']
if method == 'private_key_jwt':
    session.register_client_auth_method(PrivateKeyJWT(token_endpoint, claims={'exp': int(time.time()) + 300}, alg='ES256'))  # its default is an hour
if method != 'none':
    tokens = session.fetch_token(token_endpoint, grant_type='client_credentials')
else:
    asked = session.post(device_endpoint, withhold_token=True,
                         data={'client_id': task['id'], 'scope': task['scope'], 'tenant_hint': task['tenant']})
    device = asked.json()
    say({'device': device})
    tokens, interval = None, device['interval']
    while not tokens:
        time.sleep(interval)
        try:
            tokens = session.fetch_token(token_endpoint, grant_type='urn:ietf:params:oauth:grant-type:device_code',
                                         device_code=device['device_code'])
        except OAuthError as e:
            if e.error == 'slow_down':
                interval += 5
            elif e.error != 'authorization_pending':
                raise
say({'done': {'scope': tokens['scope'], 'expires': tokens['expires_in'], 'access': tokens['access_token'],
              'refresh': tokens.get('refresh_token', '')}})
