# authlib: the same steps in Python. Discovery is held to authlib's own models
# of RFC 8414 and OpenID Connect Discovery, the id_token to its claims class.
# Reads its task as the first line of standard input; writes addresses for the
# person's browser to standard output and reads where the browser was sent.
import json
import os
import secrets
import sys
from urllib.parse import urlencode

os.environ['AUTHLIB_INSECURE_TRANSPORT'] = '1'  # the service of a test is on this machine, without TLS

import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7591 import ClientMetadataClaims
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url as oauth_url
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata, get_well_known_url as openid_url
from joserfc import jwt
from joserfc.jwk import KeySet


def say(message):
    print(json.dumps(message), flush=True)


def read():
    return json.loads(sys.stdin.readline())


def fetched(url, status=200):
    answer = requests.get(url, timeout=600)
    assert answer.status_code == status, (url, answer.status_code)
    assert answer.headers['Content-Type'] == 'application/json', url
    return answer.json()


task = read()
issuer, redirect, method = task['issuer'], task['redirect'], task['method']


def secured(document):  # the models insist on https, which only this test is without
    return json.loads(json.dumps(document).replace('"http://', '"https://'))


metadata = fetched(openid_url(issuer, external=True))
assert metadata['issuer'] == issuer
OpenIDProviderMetadata(secured(metadata)).validate()
AuthorizationServerMetadata(secured(fetched(oauth_url(issuer, external=True)))).validate()

answer = requests.post(metadata['registration_endpoint'], timeout=600, json={
    'client_name': 'Planner', 'redirect_uris': [redirect], 'token_endpoint_auth_method': method, 'audiences': [task['audience']],
    'scope': task['scope'], 'application_type': 'native', 'id_token_signed_response_alg': task['alg'],
    'post_logout_redirect_uris': [redirect + '/bye']})
assert answer.status_code == 201, answer.text
client = answer.json()
ClientMetadataClaims({k: v for k, v in client.items() if k in ClientMetadataClaims.REGISTERED_CLAIMS}, {}).validate()

session = OAuth2Session(client['client_id'], client.get('client_secret'), token_endpoint_auth_method=method,
                        revocation_endpoint_auth_method=method, introspection_endpoint_auth_method=method,
                        scope=task['scope'], redirect_uri=redirect, code_challenge_method='S256')
verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
url, state = session.create_authorization_url(metadata['authorization_endpoint'], code_verifier=verifier, nonce=nonce,
                                              tenant_hint=task['tenant'], max_age='300', resource=issuer + '/api/v1')
say({'open': url})
sent = read()['sent']

tokens = session.fetch_token(metadata['token_endpoint'], authorization_response=sent, state=state, code_verifier=verifier)
keys = KeySet.import_key_set(fetched(metadata['jwks_uri']))


def claims(tokens, **params):
    decoded = jwt.decode(tokens['id_token'], keys, algorithms=[task['alg']])
    found = CodeIDToken(decoded.claims, decoded.header, {'iss': {'value': issuer}, 'aud': {'value': client['client_id']}},
                        {'client_id': client['client_id'], 'access_token': tokens['access_token'], **params})
    found.validate(leeway=10)
    return found


first = claims(tokens, nonce=nonce, max_age=300)
user = session.get(metadata['userinfo_endpoint'], timeout=600).json()
assert user['sub'] == first['sub']
refreshed = session.refresh_token(metadata['token_endpoint'], refresh_token=tokens['refresh_token'])
out = {'sub': first['sub'], 'email': user.get('email', ''), 'scope': tokens['scope'], 'expires': tokens['expires_in'],
       'rotated': refreshed['refresh_token'] != tokens['refresh_token'], 'refreshedSub': claims(refreshed)['sub'], 'access': refreshed['access_token']}


def active():
    answer = session.introspect_token(metadata['introspection_endpoint'], token=refreshed['access_token'], token_type_hint='access_token')
    return answer.json()['active']


if method != 'none':
    out['active'] = active()
answer = session.revoke_token(metadata['revocation_endpoint'], token=refreshed['refresh_token'], token_type_hint='refresh_token')
assert answer.status_code == 200, answer.text
if method != 'none':
    out['activeAfter'] = active()
try:
    session.refresh_token(metadata['token_endpoint'], refresh_token=refreshed['refresh_token'])
    out['reuse'] = 'accepted'
except Exception as e:
    out['reuse'] = getattr(e, 'error', repr(e))
out['end'] = metadata['end_session_endpoint'] + '?' + urlencode({'id_token_hint': tokens['id_token'], 'post_logout_redirect_uri': redirect + '/bye'})
say({'done': out})
