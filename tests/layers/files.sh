# shellcheck shell=bash
# Sourced by the checks of texts: the files that belong to the project, one a line, seen from its root.
project_files() {
    if [ -e .git ] && [ -n "$(type -P git)" ]; then
        git -c safe.directory='*' ls-files -co --exclude-standard
    else
        find . \( -name .git -o -name node_modules -o -path './build*' -o -path ./out \) -prune -o -type f -print |
            sed 's#^\./##'
    fi | while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done
}
