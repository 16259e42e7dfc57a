#!/usr/bin/env python3
"""Runs a program beside a private PostgreSQL, whose connection string it finds in HOLDFAST_POSTGRES.

usage: with_postgres.py PROGRAM [ARGUMENT...]
"""
import os
import subprocess
import sys

from postgres import Postgres


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with Postgres() as server:
        return subprocess.run(sys.argv[1:], env={**os.environ, "HOLDFAST_POSTGRES": server.url()}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
