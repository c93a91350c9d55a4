"""strait from Python: codecs on numpy arrays and PyTorch tensors, predictions, recording.

    import strait
    data = strait.Codec("sz:range=1e-3", x.shape).encode(x)
    model.register_comm_hook(None, strait.ddp_hook("topk:ratio=0.01", error_feedback=True))
    with strait.record(model, optimizer, "my-trace") as recorder: ...

Needs libstrait (`make install`) and numpy; PyTorch for what names it."""
from ._library import VERSION as __version__
from ._library import StraitError
from .codec import Codec, cost, predict
from .state_dict import compress_state_dict, decompress_state_dict

__all__ = ["Codec", "StraitError", "compress_state_dict", "cost", "curves", "ddp_hook",
           "decompress_state_dict", "predict", "record"]


# PyTorch is imported by those who use it.
def ddp_hook(codec, error_feedback=None, seed=0):
    """A hook for DistributedDataParallel.register_comm_hook(None, hook): strait.ddp.DdpHook."""
    from .ddp import DdpHook
    return DdpHook(codec, error_feedback, seed)


def record(model, optimizer, folder, **options):
    """Record a model's trace in a training loop: strait.recorder.Recorder."""
    from .recorder import Recorder
    return Recorder(model, optimizer, folder, **options)


def curves(folder, model, codecs, **options):
    """Train a model under codecs and write its accuracy by round: strait.accuracy.curves."""
    from .accuracy import curves as train
    return train(folder, model, codecs, **options)
