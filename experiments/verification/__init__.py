"""Every failure case of a scheme, decided by the interpreter."""

from experiments.verification.result import Tally, VerifyResult
from experiments.verification.verify import Request, verify_scheme

__all__ = ["Request", "Tally", "VerifyResult", "verify_scheme"]
