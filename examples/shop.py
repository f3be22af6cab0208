"""A shop in the terminal: put items into a cart, see what goes with them, check out.

Start the service with `make run`, then: python examples/shop.py [ADDRESS]
"""

import sys

from tripod_client import ConnectionFailed, Tripod, TripodError


def show_cart(tripod: Tripod, cart_id: str) -> None:
    """The cart's items and the three best suggestions, each with its probability."""
    items = tripod.get_cart(cart_id)["items"]
    print("\nCart:", ", ".join(f"{line['quantity']} × {line['item_id']}" for line in items) or "empty")
    for item in tripod.recommend(cart_id, k=3)["items"]:
        chance = item["probability"]
        print(f"  {item['rank']}. {item['name'] or item['item_id']} [{item['item_id']}]", end="")
        print("" if chance is None else f", {chance:.1%} likely to be next")


def main(address: str) -> None:
    """Read item ids from the terminal until the shopper pays."""
    with Tripod(address) as tripod:
        cart_id = tripod.create_cart()["cart_id"]
        while True:
            show_cart(tripod, cart_id)
            wish = input("Item id to add, ? TEXT to search, or pay: ").strip()
            try:
                if wish == "pay":
                    print("Thank you. Purchase", tripod.check_out(cart_id)["purchase_id"])
                    return
                if wish.startswith("?"):
                    found = tripod.search_items(wish[1:].strip(), limit=5)["items"]
                    print("Found:", ", ".join(item["item_id"] for item in found) or "nothing")
                elif wish:
                    tripod.add_items(cart_id, wish)
            except TripodError as error:
                print("Sorry:", error)


if __name__ == "__main__":
    service = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
    try:
        main(service)
    except ConnectionFailed as error:
        sys.exit(f"{error}\nStart the service with `make run`, or give its address.")
