from .answer import ServerAnswer as ServerAnswer
from .call import ServerCall as ServerCall
from .ways import WayCost as WayCost
