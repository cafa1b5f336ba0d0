from .ids import ModelId as ModelId
from .provider import Provider as Provider
