from .estimate import Calibration as Calibration
from .estimate import Estimate as Estimate
