"""Every failure case of a scheme, decided by the interpreter."""

from experiments.verify.result import Tally, VerifyResult
from experiments.verify.verify import Request, verify_scheme

__all__ = ["Request", "Tally", "VerifyResult", "verify_scheme"]
