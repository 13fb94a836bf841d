"""Writes pytest files for a module by searching for inputs, with nothing but the interpreter's own library.

The program that is started (`driver`) never imports the code under test. It starts a child (`worker`) that does, inside
a sandbox, and starts another one when that child crashes or hangs.
"""
