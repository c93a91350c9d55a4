"""libstrait through ctypes: found, checked, and each error made an exception."""
import ctypes
import ctypes.util
import os
import pathlib

VERSION = "0.1.0"  # that of the library, or the import fails: make test TESTS=lib/install

_CODES = ["ok", "usage", "input", "system", "backend", "host", "nomem"]


class StraitError(RuntimeError):
    """What the library could not do.

    code: "input" (a wrong spec, stream or experiment), "host" (this machine cannot), "nomem",
    "system" or "backend"; where: the file, spec or codec; text: expected X, found Y."""

    def __init__(self, code, where, text):
        super().__init__(f"{where}: {text}" if where else text)
        self.code, self.where, self.text = code, where, text


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("saved_errno", ctypes.c_int),
                ("where", ctypes.c_char * 256), ("text", ctypes.c_char * 512)]


class TensorCost(ctypes.Structure):
    """ratio: raw bytes by encoded bytes; encode_s, decode_s: seconds on the profile's machine."""
    _fields_ = [("ratio", ctypes.c_double), ("encode_s", ctypes.c_double),
                ("decode_s", ctypes.c_double)]


def _candidates():
    """The environment's; that of a source tree's build; that of an installation; the linker's."""
    if os.environ.get("STRAIT_LIBRARY"):
        return [os.environ["STRAIT_LIBRARY"]]
    tree = pathlib.Path(__file__).resolve().parents[2]
    names = [tree / "build" / f"libstrait.so.{VERSION}", "libstrait.so.0",
             "/usr/local/lib/libstrait.so.0", ctypes.util.find_library("strait")]
    return [str(n) for n in names if n]


def _load():
    tried = []
    for name in _candidates():
        try:
            return ctypes.CDLL(name)
        except OSError as e:
            tried.append(f"{name} ({e})")
    raise ImportError("libstrait was not found: `make library` in the source tree, `make install`, "
                      "or STRAIT_LIBRARY=/path/of/libstrait.so; tried " + ", ".join(tried))


_lib = _load()
_size, _pointer, _text = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
_error = ctypes.POINTER(_Error)
for _name, _result, _arguments in (
        ("strait_version", _text, []),
        ("strait_tensor_codec_new", ctypes.c_int,
         [ctypes.POINTER(_pointer), _text, _size, _size, _error]),
        ("strait_tensor_codec_free", None, [_pointer]),
        ("strait_tensor_codec_max_bytes", _size, [_pointer]),
        ("strait_tensor_codec_encode", ctypes.c_int,
         [_pointer, _pointer, _size, ctypes.POINTER(_size), _pointer, ctypes.c_uint64, _error]),
        ("strait_tensor_codec_decode", ctypes.c_int,
         [_pointer, _pointer, _pointer, _size, _error]),
        ("strait_tensor_codec_reset", ctypes.c_int, [_pointer, _error]),
        ("strait_tensor_cost", ctypes.c_int,
         [ctypes.POINTER(TensorCost), _text, _text, _text, _size, _error]),
        ("strait_predict", ctypes.c_int,
         [ctypes.POINTER(_pointer), _text, _text, _text, ctypes.POINTER(_text), _error]),
        ("strait_rows_free", None, [_pointer])):
    _function = getattr(_lib, _name)
    _function.restype, _function.argtypes = _result, _arguments

if _lib.strait_version().decode() != VERSION:
    raise ImportError(f"expected libstrait {VERSION}, found {_lib.strait_version().decode()}")


def call(name, *arguments):
    """Call a function of the library; StraitError where it returns -1."""
    error = _Error()
    if getattr(_lib, name)(*arguments, ctypes.byref(error)) != 0:
        raise StraitError(_CODES[error.code], error.where.decode(errors="replace"),
                          error.text.decode(errors="replace"))


def raw(name, *arguments):
    """Call a function that cannot fail."""
    return getattr(_lib, name)(*arguments)
