"""A sequence of requests sends each Idempotency-Key once.

A repeated key returns the first answer: it names a resource that the sequence may have deleted.
"""
import itertools
import re

import schemathesis

count = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    key = (case.headers or {}).get("Idempotency-Key")
    if case.meta and case.meta.phase.name.value == "stateful" and isinstance(key, str) and re.fullmatch(r"[!-~]{1,200}", key):
        case.headers["Idempotency-Key"] = f"{key}-{next(count)}"
