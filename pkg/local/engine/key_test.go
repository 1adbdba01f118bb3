package engine

import (
	"os"
	"path/filepath"
	"testing"
)

// The file of DynamoDB Local's database has the folder's key in its name. So nobody
// else may list its folder, also if an older build or a person made it.
func TestKeyIsInNoNameThatOthersSee(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"new": 0, "of an older build": 0o755, "open to a group": 0o770} {
		dir := t.TempDir()
		data := filepath.Join(dir, "dynamodb-local")
		if mode != 0 {
			if err := os.Mkdir(data, mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(data, mode); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := prepare(DynamoDBLocal, dir); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(data); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
