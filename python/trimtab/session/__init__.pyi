from .provider_count import ProviderCount as ProviderCount
