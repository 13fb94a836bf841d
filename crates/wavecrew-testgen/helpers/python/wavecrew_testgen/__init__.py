"""Generates pytest files for a module by searching for inputs. Needs only the standard library.

The main program (`driver`) never imports the code under test. It starts a child process (`worker`) that does, in a sandbox,
and starts another one when the child crashes or hangs.
"""
