from .harmony import Harmony as Harmony
from .rendered import RenderedTokens as RenderedTokens
from .template import ChatTemplate as ChatTemplate
