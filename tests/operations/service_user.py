# SPDX-License-Identifier: Apache-2.0
"""torusd --check-config by root: files that the user of the service cannot read are errors. It needs root, for a user
torusd in a mount namespace of its own."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
DEADLINE_S = 60
USER = "torusd:x:64999:64999::/:/usr/sbin/nologin\n"


class ServiceUser(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="torus.")
        self.addCleanup(place.cleanup)
        self.folder = place.name
        os.chmod(self.folder, 0o755)
        for folder in ("sbin", "etc/torusd/torusd.conf.d", "etc/torusd/keys"):
            os.makedirs(self.path(folder), 0o755)
        shutil.copy(os.path.join(BUILD, "bin/torusd"), self.path("sbin/torusd"))  # its configuration is in this prefix
        with open("/etc/passwd", encoding="utf-8") as users:
            lines = [line for line in users if not line.startswith("torusd:")]
        self.write("passwd", "".join(lines) + USER)
        self.write("etc/torusd/torusd.conf", "[torus]\nshape = 2\n[node]\ncoordinates = 0\n[peers]\nendpoints =\n"
                   "  tcp://127.0.0.1:7117\n  tcp://127.0.0.1:7119\n[security]\n"
                   f"key = {self.path('etc/torusd/keys/torusd.key')}\npeers = {self.path('etc/torusd/peers')}\n")
        self.write("etc/torusd/torusd.conf.d/site.conf", "[limits]\nclients = 77\n")
        made = subprocess.run([os.path.join(BUILD, "bin/torusctl"), "keygen", "--coordinates", "0",
                               self.path("etc/torusd/keys")], check=True, capture_output=True, text=True).stdout
        self.write("etc/torusd/peers", made)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o644)

    def check(self, *options):
        mounted = 'mount --bind "$1" /etc/passwd && shift && exec "$@"'
        return subprocess.run(["unshare", "-m", "sh", "-c", mounted, "sh", self.path("passwd"), self.path("sbin/torusd"),
                               "--check-config", *options], capture_output=True, text=True, timeout=DEADLINE_S)

    def test_files_that_the_service_cannot_read_are_named(self):
        key, peers = self.path("etc/torusd/keys/torusd.key"), self.path("etc/torusd/peers")
        os.chmod(peers, 0o600)
        done = self.check()  # root has made the key
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        first, second = done.stderr.splitlines()
        self.assertRegex(first, f"{key}: cannot open the secret key: Permission denied: user torusd, as which the service "
                                "runs, may not read it: chown it$")
        self.assertEqual(second, f"torusd: cannot read {peers}: Permission denied")
        for file in (key, peers):
            os.chown(file, 64999, 64999)
        done = self.check()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("/etc/torusd/torusd.conf: valid: node 0 of 2; 6 settings", done.stdout)

    def test_another_file_is_checked_as_root(self):
        file = self.path("etc/torusd/torusd.conf")
        os.chmod(file, 0o600)
        self.assertEqual(self.check().returncode, 2)
        self.assertEqual(self.check("--config", file).returncode, 0)


if __name__ == "__main__":
    if os.getuid() != 0:
        print("only root can make a user torusd in a namespace")
        sys.exit(77)
    unittest.main()
