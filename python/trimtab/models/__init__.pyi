from .provider import Provider as Provider
