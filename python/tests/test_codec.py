"""Codecs, state dicts and predictions: the same numbers as the command line, bit for bit."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

import strait

PROGRAM = os.environ.get("STRAIT", str(pathlib.Path(__file__).resolve().parents[2] / "build/strait"))


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def tensor(*shape):
    return np.random.default_rng(7).standard_t(4, shape).astype(np.float32)


class Codecs(unittest.TestCase):
    def test_same_bits_as_the_command_line(self):
        x = tensor(96, 111)
        for spec in ("sz:range=1e-2", "topk:ratio=0.05", "fp16", "mx:type=e2m1", "zstd"):
            with self.subTest(spec), tempfile.TemporaryDirectory() as t:
                np.save(f"{t}/x.npy", x)
                run("codec", "encode", "--codec", spec, f"{t}/x.npy", "-o", f"{t}/x.st")
                run("codec", "decode", f"{t}/x.st", "-o", f"{t}/y.npy")
                codec = strait.Codec(spec, x.shape)
                data = codec.encode(x)
                np.testing.assert_array_equal(codec.decode(data), np.load(f"{t}/y.npy"))
                self.assertIn(data, pathlib.Path(f"{t}/x.st").read_bytes())  # behind its head

    def test_bound_is_kept(self):
        x = tensor(5000)
        codec = strait.Codec("sz:abs=0.01", 5000)
        self.assertLessEqual(np.abs(codec.decode(codec.encode(x)).astype(float) - x).max(), 0.01)

    def test_error_feedback_remembers(self):
        """Of three equal gradients, the tenth that is not sent first comes later."""
        x = np.linspace(1, 2, 2000, dtype=np.float32)
        codec = strait.Codec("topk:ratio=0.5,error_feedback=yes", 2000)
        total = sum(codec.decode(codec.encode(x)) for _ in range(4))
        self.assertTrue((total > 0).all())
        codec.reset()
        again = sum(codec.decode(codec.encode(x)) for _ in range(4))
        np.testing.assert_array_equal(total, again)

    def test_keys_draw(self):
        x, codec = tensor(3000), strait.Codec("qsgd", 3000)
        self.assertEqual(codec.encode(x, 5), codec.encode(x, 5))
        self.assertNotEqual(codec.encode(x, 5), codec.encode(x, 6))

    def test_errors(self):
        with self.assertRaises(strait.StraitError) as e:
            strait.Codec("zs:range=1", 10)
        self.assertEqual(e.exception.code, "input")
        self.assertIn('did you mean "sz"', str(e.exception))
        with self.assertRaises(strait.StraitError):
            strait.Codec("sz:range=1e-3", 10).decode(b"other bytes")
        with self.assertRaises(ValueError):
            strait.Codec("fp16", (2, 3)).encode(np.zeros((3, 2)))

    def test_cost(self):
        cost = strait.cost("sz:range=1e-2", 1 << 20, kind="param")
        self.assertGreater(cost.ratio, 2)
        self.assertGreater(cost.encode_s, 0)


class StateDicts(unittest.TestCase):
    def state(self):
        return {"w": tensor(64, 80), "b": tensor(80), "n": np.int64(3), "empty": tensor(0),
                "mask": np.array([True, False])}

    def test_there_and_back(self):
        state = self.state()
        data = strait.compress_state_dict(state, "sz:abs=1e-3")
        back = strait.decompress_state_dict(data)
        self.assertEqual(list(back), list(state))
        self.assertLessEqual(np.abs(back["w"].astype(float) - state["w"]).max(), 1e-3)
        for name in ("b", "n", "empty", "mask"):  # as they are
            self.assertEqual(back[name].dtype, np.asarray(state[name]).dtype)
            np.testing.assert_array_equal(back[name], state[name])

    def test_against_a_reference(self):
        """The difference of 1e-3 codes in far fewer bytes than the values of order 1."""
        old = self.state()
        new = {**old, "w": old["w"] + 1e-3 * tensor(64, 80)}
        alone = strait.compress_state_dict(new, "sz:abs=1e-4")
        data = strait.compress_state_dict(new, "sz:abs=1e-4", reference=old)
        self.assertLess(len(data), 0.6 * len(alone))
        back = strait.decompress_state_dict(data, reference=old)
        self.assertLessEqual(np.abs(back["w"].astype(float) - new["w"]).max(), 1.01e-4)
        with self.assertRaisesRegex(ValueError, "the reference"):
            strait.decompress_state_dict(data)

    def test_damaged(self):
        data = strait.compress_state_dict(self.state(), "sz:abs=1e-3")
        for bad in (b"", b"STRAITSD", data[:-1], data + b"x", b"\0" * 100, data[:20] + data[30:]):
            with self.assertRaises(ValueError):
                strait.decompress_state_dict(bad)


class Predictions(unittest.TestCase):
    def test_same_rows_as_the_command_line(self):
        with tempfile.TemporaryDirectory() as t:
            text = run("run", "wan-check", "--on", "fluid", "--set", "/clients=2", "--json",
                       "--out", t)
        expected = [json.loads(line) for line in text.splitlines()]
        rows = strait.predict("wan-check", "fluid", ["/clients=2"])
        times = {json.dumps(r["codec"], sort_keys=True): r["round_s"] for r in expected
                 if r.get("record") == "row"}
        for row in rows:
            self.assertEqual(times[json.dumps(row["codec"], sort_keys=True)], row["round_s"])

    def test_errors(self):
        with self.assertRaises(strait.StraitError) as e:
            strait.predict("wan-chek", "fluid")
        self.assertEqual(e.exception.code, "input")


if __name__ == "__main__":
    unittest.main()
