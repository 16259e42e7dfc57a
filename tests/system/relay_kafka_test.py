#!/usr/bin/python3
"""holdfast-relay between a real server and a real Kafka: what consumers get, and where a sink begins.

usage: relay_kafka_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --only orders
"""
from kafka_shop import Shop, check, id_of, kafka_arguments, reserve, run_kafka_cases


def ten_thousand_orders_of_one_item(programs, folder):
    shop = Shop(programs, folder, "--kafka-header", "__TypeId__=shop.OrderPlaced")
    shop.ask(("ITEM", "CREATE", "item:1001", "STOCK", 20_000, "PRICE", 995, "CURRENCY", "EUR"))
    shop.ask(*reserve("item:1001", range(1, 10_001)))
    shop.ask(*[("CONFIRM", "item:1001", number, "ID", id_of(number)) for number in range(1, 501)])
    shop.whole()
    orders = shop.client.read(shop.orders)
    check(len(orders) == 10_000 and {record.key for record in orders} == {b"item:1001"} and len({record.partition for record in orders}) == 1, "one key, one partition")
    values = shop.read(shop.orders)
    check([order["userId"] for order in values] == list(range(1, 10_001)), "numbers, in order")
    first = values[0]
    check(first["orderId"] == id_of(1) and first["itemId"] == 1001 and first["quantity"] == 1 and first["price"] == 995 and first["currency"] == "EUR", "an order", first)
    check(abs(first["expiresAt"] - first["reservedAt"] - 600_000) <= 1, "it lives for ten minutes", first)
    headers = dict(orders[0].headers)
    check(headers["__TypeId__"] == b"shop.OrderPlaced" and headers["ce_specversion"] == b"1.0" and headers["content-type"] == b"application/json", "headers", headers)
    check(len({dict(record.headers)["ce_id"] for record in orders}) == 10_000, "ids of their own")
    shop.stop()


CASES = [ten_thousand_orders_of_one_item]

if __name__ == "__main__":
    run_kafka_cases(CASES, kafka_arguments(__doc__).parse_args())
