from .template import ChatTemplate as ChatTemplate
from .template import RenderedTokens as RenderedTokens
