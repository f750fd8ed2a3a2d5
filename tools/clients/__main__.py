"""``make clients``: write the generated parts of the clients."""

from tools.clients import files

if __name__ == "__main__":
    for path in files.write():
        print(path)
