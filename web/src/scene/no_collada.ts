// Collada meshes are not shown; their reader is large, and robots here have STL meshes or plain shapes.
export class ColladaLoader {
  load(_path: string, _done: unknown, _progress: unknown, fail: (e: Error) => void) {
    fail(new Error("Collada meshes are not shown"));
  }
}
