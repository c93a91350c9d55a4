"""Chakra traces of three ranks, encoded by protoc: tests/data/chakra/step.N.et (rank 1 unpacked,
rank 2 gzip). The schema names the fields of mlcommons/chakra's et_def.proto that are used."""
import gzip
import subprocess
import sys

SCHEMA = """syntax = "proto3"; package c;
message Attr { string name = 1; string doc_string = 2; oneof value { double double_val = 3;
  float float_val = 5; int32 int32_val = 7; int64 int64_val = 9; uint32 uint32_val = 11;
  uint64 uint64_val = 13; sint32 sint32_val = 15; sint64 sint64_val = 17; fixed32 fixed32_val = 19;
  fixed64 fixed64_val = 21; sfixed32 sfixed32_val = 23; sfixed64 sfixed64_val = 25; bool bool_val = 27;
  string string_val = 29; } }
message GlobalMetadata { string version = 1; repeated Attr attr = 2; }
message Node { uint64 id = 1; string name = 2; uint32 type = 3; repeated uint64 ctrl_deps = 4 PACKED;
  repeated uint64 data_deps = 5 PACKED; uint64 start_time_micros = 6; uint64 duration_micros = 7;
  repeated Attr attr = 10; }
"""


def encode(folder, message, text, packed):
    with open(f"{folder}/t.proto", "w") as f:
        f.write(SCHEMA.replace("PACKED", "" if packed else "[packed = false]"))
    out = subprocess.run(["protoc", f"--proto_path={folder}", f"--encode=c.{message}", "t.proto"],
                         input=text.encode(), check=True, capture_output=True).stdout
    n, length = len(out), b""
    while n >= 0x80:
        length, n = length + bytes([n & 0x7F | 0x80]), n >> 7
    return length + bytes([n]) + out


def attr(name, kind, value):
    return f'attr {{ name: "{name}" {kind}_val: {value} }}'


def rank(r):
    cpu = attr("is_cpu_op", "bool", "false")
    yield (f'id: 7 name: "forward" type: 4 duration_micros: 1000 {cpu}')
    yield (f'id: 300 name: "sum" type: 7 data_deps: 7 {attr("comm_type", "int64", 0)} '
           f'{attr("comm_size", "uint64", 3000000)}')
    if r < 2:  # a group of two
        yield (f'id: 301 name: "share" type: 7 ctrl_deps: 300 {attr("comm_type", "sint32", 2)} '
               f'{attr("comm_size", "fixed64", 1000)} {attr("pg_name", "string", chr(34) + "pair" + chr(34))}')
    if r == 0:
        yield (f'id: 302 type: 5 data_deps: 300 data_deps: 301 {attr("comm_dst", "int32", 2)} '
               f'{attr("comm_size", "double", 5000)} {attr("comm_tag", "uint32", 9)}')
    if r == 2:
        yield (f'id: 302 type: 6 {attr("comm_src", "fixed32", 0)} {attr("comm_size", "float", 5000)} '
               f'{attr("comm_tag", "sfixed32", 9)}')
        yield 'id: 303 type: 4 data_deps: 302 duration_micros: 250 ' + attr("is_cpu_op", "bool", "true")


folder = sys.argv[1]
for r in range(3):
    data = encode(folder, "GlobalMetadata", 'version: "0.0.4"', True)
    data += b"".join(encode(folder, "Node", text, r != 1) for text in rank(r))
    with open(f"{folder}/step.{r}.et", "wb") as f:
        f.write(gzip.compress(data, mtime=0) if r == 2 else data)
subprocess.run(["rm", f"{folder}/t.proto"], check=True)
