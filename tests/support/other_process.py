"""Settings of another process that works on the test database of the process that started it."""

import json
import os
from importlib import import_module

_same = import_module(os.environ["TEST_SETTINGS"])
globals().update({name: value for name, value in vars(_same).items() if name.isupper()})

DATABASES = {"default": {**_same.DATABASES["default"], **json.loads(os.environ["TEST_DATABASE"])}}
