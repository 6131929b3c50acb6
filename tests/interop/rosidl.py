"""Builds the message packages as a ROS 2 user does, with Debian's ament and rosidl.

package.xml is read by catkin_pkg, which colcon uses too; every interface goes through rosidl's own parser; what the C
generator makes of it is compiled, and the C++ headers are included. The standard packages, which a ROS 2 user has
already, are built first from the same files, as far as ours need them. Debian has no Python generator, so for Python
the names are checked here.

    rosidl.py ROOT SCRATCH
"""
import keyword
import os
import re
import shutil
import subprocess
import sys

from catkin_pkg.package import parse_package

OWN = ['humanoid_league_msgs', 'nutmeg_msgs']
KINDS = ['msg', 'srv', 'action']
# https://en.cppreference.com/w/cpp/keyword, with those of C and macros of the C library that are plain words
WORDS = set('''alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq linux unix errno stdin stdout stderr assert NULL EOF INFINITY NAN'''.split())


# what the class that rosidl makes for Python uses itself: a member of such a name would take its place
PYTHON = {'get_fields_and_field_types', 'property', 'classmethod', 'self', 'kwargs'}


def files(root, package):
    folder = os.path.join(root, 'msg', package)
    return [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.rsplit('.')[-1] in KINDS]


def lines(path):
    for number, line in enumerate(open(path, encoding='utf-8'), 1):
        line = line.split('#')[0].strip()
        if line and line != '---':
            yield f'{os.path.relpath(path)}:{number}', line


def references(package, path):
    """The files' names of other packages' or this package's types that a file uses."""
    for _, line in lines(path):
        name = re.match(r'(?:([a-z]\w*)/(?:msg/)?)?([A-Z]\w*)', line)
        if name:
            yield name[1] or package, name[2]


def needed(root):
    """package -> the standard interfaces that ours reach."""
    todo = [ref for package in OWN for path in files(root, package) for ref in references(package, path)]
    # what rosidl itself puts into services and actions
    todo += [('action_msgs', n) for n in ('CancelGoal', 'GoalInfo', 'GoalStatus', 'GoalStatusArray')]
    found = {}
    while todo:
        package, name = todo.pop()
        if package in OWN or name in found.setdefault(package, {}):
            continue
        path = next(p for p in files(root, package) if os.path.splitext(os.path.basename(p))[0] == name)
        found[package][name] = path
        todo += references(package, path)
    return found


def check_names(root):
    """Names that a generator of C, C++ or Python turns into code that is none, or that rosidl refuses."""
    wrong = []
    for package in OWN:
        if not re.fullmatch(r'(?!.*__)(?!.*_$)[a-z][a-z0-9_]*', package):
            wrong.append(f'{package}: no name for a package')
        for path in files(root, package):
            if not re.fullmatch(r'[A-Z][A-Za-z0-9]*', os.path.splitext(os.path.basename(path))[0]):
                wrong.append(f'{path}: no name for an interface')
            for where, line in lines(path):
                constant = re.match(r'\S+\s+(\w+)\s*=', line)
                field = re.match(r'\S+\s+(\w+)', line)
                if constant:
                    ok = re.fullmatch(r'[A-Z]([A-Z0-9_]?[A-Z0-9]+)*', constant[1]) \
                        and constant[1] not in WORDS | {'SLOT_TYPES'}
                else:
                    name = field[1] if field else ''
                    ok = re.fullmatch(r'(?!.*__)(?!.*_$)[a-z][a-z0-9_]*', name) and name not in WORDS \
                        and not keyword.iskeyword(name) and not keyword.issoftkeyword(name) \
                        and name not in PYTHON
                if not ok:
                    wrong.append(f'{where}: {line}: this name is not one in C, C++ and Python')
    return wrong


def check_package(root, package):
    """What colcon and rosidl ask of package.xml, and what CMakeLists.txt promises."""
    wrong = []
    folder = os.path.join(root, 'msg', package)
    warnings = []
    about = parse_package(folder, warnings=warnings)  # raises, for instance, without a valid address
    about.validate(warnings=warnings)
    wrong += [f'{package}: {w}' for w in warnings]
    uses = {p for path in files(root, package) for p, _ in references(package, path)} - {package}
    if any(path.endswith('.action') for path in files(root, package)):
        uses.add('action_msgs')
    depends = {d.name for d in about.build_depends} & {d.name for d in about.exec_depends}
    recipe = open(os.path.join(folder, 'CMakeLists.txt'), encoding='utf-8').read()
    given = re.search(r'DEPENDENCIES ([\w\s]*)\)', recipe)[1].split()
    for name in sorted(uses):
        if name not in depends:
            wrong.append(f'{package}/package.xml: {name} is used, but there is no <depend> for it')
        if name not in given or f'find_package({name} REQUIRED)' not in recipe:
            wrong.append(f'{package}/CMakeLists.txt: {name} is used, but not found or not among the DEPENDENCIES')
    if about.package_format != 3 or about.name != package:
        wrong.append(f'{package}/package.xml: format 3 and the name of its folder are needed')
    if 'rosidl_interface_packages' not in {g.name for g in about.member_of_groups}:
        wrong.append(f'{package}/package.xml: it is no member of rosidl_interface_packages')
    if about.get_build_type() != 'ament_cmake':
        wrong.append(f'{package}/package.xml: its build type is not ament_cmake')
    for name in os.listdir(os.path.join(root, 'msg')):
        if name not in OWN and os.path.exists(os.path.join(root, 'msg', name, 'package.xml')):
            wrong.append(f'{name}: a package.xml would hide the package of ROS 2 itself')
    return wrong


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as out:
        out.write(text)


def standard_package(scratch, name, interfaces, depends):
    """A package of ROS 2, with what ours need of it; returns its folder."""
    folder = os.path.join(scratch, 'standard', name)
    listed = []
    for path in interfaces.values():
        kind = path.rsplit('.')[-1]
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        shutil.copy(path, os.path.join(folder, kind))
        listed.append(f'{kind}/{os.path.basename(path)}')
    elements = ''.join(f'<depend>{d}</depend>' for d in depends)
    write(os.path.join(folder, 'package.xml'), f'''<package format="3"><name>{name}</name><version>1.0.0</version>
        <description>as of ROS 2</description><maintainer email="a@b.invalid">a</maintainer><license>Apache-2.0</license>
        <buildtool_depend>ament_cmake</buildtool_depend>{elements}
        <member_of_group>rosidl_interface_packages</member_of_group>
        <export><build_type>ament_cmake</build_type></export></package>''')
    finds = '\n'.join(f'find_package({d} REQUIRED)' for d in depends)
    uses = f'DEPENDENCIES {" ".join(depends)}' if depends else ''
    write(os.path.join(folder, 'CMakeLists.txt'), f'''cmake_minimum_required(VERSION 3.8)
project({name})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
{finds}
rosidl_generate_interfaces({name} {' '.join(sorted(listed))} {uses})
ament_package()
''')
    return folder


def run(what, *command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print('\n'.join(done.stdout.splitlines()[-40:]))
        sys.exit(f'{what} does not build')


def build(scratch, name, folder):
    there = os.path.join(scratch, 'build', name)
    prefix = os.path.join(scratch, 'install')
    run(name, 'cmake', '-S', folder, '-B', there, f'-DCMAKE_PREFIX_PATH={prefix}', f'-DCMAKE_INSTALL_PREFIX={prefix}',
        f'-DPython3_EXECUTABLE={sys.executable}', f'-DPYTHON_EXECUTABLE={sys.executable}', '-DBUILD_TESTING=OFF',
        '-DCMAKE_C_FLAGS=-O0', '-DCMAKE_CXX_FLAGS=-O0', '-Wno-dev')
    run(name, 'cmake', '--build', there, '-j2')
    run(name, 'cmake', '--install', there)


def build_all(root, scratch):
    prefix = os.path.join(scratch, 'install')
    # what ROS 2 has as packages that only name others
    finds = ''.join(f'find_package({p} REQUIRED)\n' for p in
                    ('rosidl_cmake', 'rosidl_adapter', 'rosidl_parser', 'rosidl_generator_c', 'rosidl_generator_cpp'))
    write(f'{prefix}/share/rosidl_default_generators/cmake/rosidl_default_generatorsConfig.cmake', finds)
    write(f'{prefix}/share/rosidl_default_runtime/cmake/rosidl_default_runtimeConfig.cmake',
          'find_package(rosidl_runtime_c REQUIRED)\n')
    standard = needed(root)
    built = []
    while len(built) < len(standard):
        for name, interfaces in sorted(standard.items()):
            depends = sorted({p for path in interfaces.values() for p, _ in references(name, path)} - {name})
            if name in built or not set(depends) <= set(built):
                continue
            build(scratch, name, standard_package(scratch, name, interfaces, depends))
            built.append(name)
    for name in OWN:
        build(scratch, name, os.path.join(root, 'msg', name))
    # the C++ generator makes headers only
    headers = []
    for name in OWN:
        for path in files(root, name):
            kind, stem = path.rsplit('.')[-1], os.path.splitext(os.path.basename(path))[0]
            snake = re.sub(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])', '_', stem).lower()
            headers.append(f'#include <{name}/{kind}/{snake}.hpp>')
    source = os.path.join(scratch, 'all.cpp')
    write(source, '\n'.join(headers) + '\nint main() { nutmeg_msgs::msg::BallModel ball; (void)ball; return 0; }\n')
    folders = [f'-I{prefix}/include/{n}' for n in [*standard, *OWN]] + [
        f'-I/usr/include/{n}' for n in os.listdir('/usr/include') if n.startswith('rosidl')]
    run('C++', 'g++', '-std=c++17', '-fsyntax-only', f'-I{prefix}/include', *folders, source)


def main():
    root, scratch = sys.argv[1:]
    wrong = check_names(root)
    for package in OWN:
        wrong += check_package(root, package)
    if wrong:
        sys.exit('\n'.join(wrong))
    shutil.rmtree(scratch, ignore_errors=True)
    build_all(root, scratch)
    shutil.rmtree(scratch)
    print(f'{sum(len(files(root, p)) for p in OWN)} interfaces of {", ".join(OWN)} build with rosidl in C and C++')


main()
