import os
import uuid

import redis

client = redis.Redis(port=int(os.environ.get("PORT", 7379)))
request = uuid.uuid4()  # kept with the order, so that a repeated call means the same units
left = client.execute_command("RESERVE", "item:1001", "42", "ID", str(request))
if left >= 0:
    print(f"reserved, {left} left")
    print("confirmed:", client.execute_command("CONFIRM", "item:1001", "42", "ID", str(request)))
else:
    print(f"refused: {left}")  # -1 is sold out; the manual lists them all
client.close()
