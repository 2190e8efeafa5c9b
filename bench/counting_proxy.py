"""A proxy before a Redis server that counts requests and round trips.

It keeps every answer back until the client has sent nothing for a while. A client that needs the
answer falls silent, which counts as one round trip. Requests that the client sends without waiting for
an answer (pipelines, or a request whose answer nobody reads) arrive meanwhile and cost no round trip.
"""

import collections
import select
import socket
import threading

SILENCE = 0.02  # seconds


def take_requests(buffer):
    """Takes the complete requests (RESP arrays) from the start of buffer; returns their names."""
    names = []
    while True:
        end = buffer.find(b"\r\n")
        if end < 0:
            return names
        position = end + 2
        words = []
        for _ in range(int(buffer[1:end])):
            end = buffer.find(b"\r\n", position)
            if end < 0:
                return names
            position = end + 2 + int(buffer[position + 1:end]) + 2
            words.append(bytes(buffer[end + 2:position - 2]))
        if position > len(buffer):
            return names
        del buffer[:position]
        names.append(words[0].decode().upper())


class CountingProxy:
    def __init__(self, path, server_path):
        self.server_path = server_path
        self.requests = collections.Counter()  # by name
        self.round_trips = 0
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.server_path)
        unparsed, answers, asked = bytearray(), bytearray(), False
        try:
            while True:
                ready, _, _ = select.select([client, server], [], [], SILENCE if answers else None)
                if client in ready:
                    data = client.recv(65536)
                    if not data:
                        return
                    unparsed += data
                    requests = take_requests(unparsed)
                    asked = asked or bool(requests)
                    with self.lock:
                        self.requests.update(requests)
                    server.sendall(data)
                elif server in ready:
                    data = server.recv(65536)
                    if not data:
                        return
                    answers += data
                elif answers:
                    with self.lock:
                        self.round_trips += asked
                    asked = False
                    client.sendall(answers)
                    answers.clear()
        except OSError:  # the client has gone
            pass
        finally:
            client.close()
            server.close()
