"""Installs and builds a client into a folder of its own below the cache; nothing is written beside its source."""
import hashlib
import os
import re
import shutil
import subprocess
import sys

# Kind of client -> file that tells it, and the programs it needs with the oldest version that does. On a plain Debian 12
# node, go and cargo are older than this and must come from elsewhere.
KINDS = {
    "npm": ("client.mjs", {"node": "20", "npm": "9"}),
    "pip": ("client.py", {"python3": "3.11"}),
    "go": ("go.mod", {"go": "1.26"}),
    "maven": ("pom.xml", {"javac": "17", "mvn": "3.8"}),
    "cargo": ("Cargo.toml", {"cargo": "1.88"}),
    "boost": ("client.cpp", {"python3": "3.11", "cmake": "3.25", "c++": "10"}),
    "cmake": ("CMakeLists.txt", {"cmake": "3.25", "pkg-config": "1.8", "cc": ""}),
}
ASK_VERSION = {"go": ["go", "version"], "javac": ["javac", "-version"]}
CMAKE = [["cmake", "-S", ".", "-B", "out"], ["cmake", "--build", "out"]]
COPY_DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


class Missing(Exception):
    """Something that the machine must have is not there, or a build failed."""


def numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)]


def tool_version(tool, oldest):
    """What the tool says of itself; Missing when it is not there or older than needed."""
    if shutil.which(tool) is None:
        raise Missing(f"{tool} is not installed (version {oldest or 'any'} or newer is needed)")
    asked = subprocess.run(ASK_VERSION.get(tool, [tool, "--version"]), capture_output=True, text=True)
    found = re.search(r"\d+(\.\d+)+", asked.stdout + asked.stderr)
    if not found:
        raise Missing(f"{tool} does not tell its version: {asked.stdout}{asked.stderr}")
    if oldest and numbers(found[0]) < numbers(oldest):
        raise Missing(f"{tool} {found[0]} is too old, {oldest} or newer is needed")
    return f"{tool} {found[0]}"


class Client:
    """A row with the folder where it is built and run."""

    def __init__(self, row, cache):
        self.row, self.cache = row, os.path.abspath(cache)
        self.work = os.path.join(self.cache, row.name.replace(" ", "-"))
        self.kind = next(kind for kind, (file, _) in KINDS.items() if (row.source / file).exists())

    def command(self, program):
        return {
            "npm": ["node", f"{program}.mjs"],
            "pip": [sys.executable, f"{program}.py"],
            "go": [f"./{program}"],
            "maven": ["java", "-cp", "classes:lib/*", program.capitalize()],
            "cargo": [f"./{program}"],
            "boost": [f"out/{program}"],
            "cmake": [f"out/{program}"],
        }[self.kind]

    def environment(self):
        return os.environ | {"PYTHONPATH": os.path.join(self.work, "packages")}

    def steps(self):
        library, version = self.row.library, self.row.version
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", "packages"]
        return {
            "npm": [["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--prefix", ".", f"{library}@{version}"]],
            "pip": [[*pip, f"{library}=={version}"]],
            "go": [["go", "build", "-o", program, f"{program}.go"] for program in ("client", "example")],
            "maven": [["mvn", "-q", "-B", COPY_DEPENDENCIES, "-DoutputDirectory=lib"],
                      ["javac", "-cp", "lib/*", "-d", "classes", "Client.java", "Example.java"]],
            "cargo": [["cargo", "build", "--quiet", "--bins"]],
            "boost": [[*pip, "--no-deps", f"{library}=={version}"], *CMAKE],
            "cmake": [["pkg-config", f"--exact-version={version}", library], *CMAKE],
        }[self.kind]

    def stamp(self, tools):
        files = sorted(path for path in self.row.source.iterdir() if path.is_file())
        told = [*tools, repr(self.steps()), *(path.name + path.read_text() for path in files)]
        return hashlib.sha256("\0".join(told).encode()).hexdigest()

    def check_version(self):
        """The version of the table is the version of the manifest."""
        manifest = self.row.source / KINDS[self.kind][0]
        if self.kind in ("go", "maven", "cargo") and self.row.version not in manifest.read_text():
            raise Missing(f"{manifest} does not have version {self.row.version} of matrix.txt")

    def install(self):
        """Builds unless that was done before from the same files with the same tools; whether it had to."""
        tools = [tool_version(tool, oldest) for tool, oldest in KINDS[self.kind][1].items()]
        self.check_version()
        stamp, stamp_path = self.stamp(tools), os.path.join(self.work, "stamp")
        if os.path.exists(stamp_path):
            with open(stamp_path) as file:
                if file.read() == stamp:
                    return False
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.row.source, self.work)
        target = os.path.join(self.cache, "cargo")  # shared, so that what both crates need is compiled once
        environment = os.environ | {"CARGO_TARGET_DIR": target, "CARGO_PROFILE_DEV_DEBUG": "0"}
        for step in self.steps():
            done = subprocess.run(step, cwd=self.work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                raise Missing(f"{' '.join(step)} failed:\n{done.stdout[-3000:]}")
        if self.kind == "cargo":
            for program in ("client", "example"):
                shutil.copy2(os.path.join(target, "debug", program), self.work)
        with open(stamp_path, "w") as file:
            file.write(stamp)
        return True
