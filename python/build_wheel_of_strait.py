"""A build backend (PEP 517, PEP 660) that needs nothing but Python: the package is a folder of
sources, so a wheel is those files and four lines about them."""
import base64
import hashlib
import pathlib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
NAME, VERSION = "strait", "0.1.0"
INFO = f"{NAME}-{VERSION}.dist-info"
METADATA = (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n"
            "Summary: Codecs, prediction and recording of compressed distributed training\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\n")
WHEEL = "Wheel-Version: 1.0\nGenerator: strait\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _write(folder, files):
    name = f"{NAME}-{VERSION}-py3-none-any.whl"
    record = []
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
            wheel.writestr(path, data)
        record.append(f"{INFO}/RECORD,,")
        wheel.writestr(f"{INFO}/RECORD", "\n".join(record) + "\n")
    return name


def _about():
    return [(f"{INFO}/METADATA", METADATA.encode()), (f"{INFO}/WHEEL", WHEEL.encode())]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    sources = sorted((HERE / NAME).glob("*.py"))
    return _write(wheel_directory, [(f"{NAME}/{s.name}", s.read_bytes()) for s in sources] + _about())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, [(f"{NAME}.pth", f"{HERE}\n".encode())] + _about())


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("expected an install from the source tree: pip install ./python")
