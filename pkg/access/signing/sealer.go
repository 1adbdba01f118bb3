package signing

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Sealer encrypts private keys for storage. The keyID is authenticated: Open
// fails if its keyID differs from that of Seal.
type Sealer interface {
	Seal(ctx context.Context, keyID string, plain []byte) ([]byte, error)
	Open(ctx context.Context, keyID string, sealed []byte) ([]byte, error)
}

// sealingKeySize is the size of a sealing key in bytes.
const sealingKeySize = 32

// fileSealer is the Sealer of FileSealer and NewSealer.
type fileSealer struct{ aead cipher.AEAD }

// FileSealer returns a Sealer that uses AES-256-GCM with the key in the file.
// If the file does not exist, it creates one with mode 0600. It rejects a file
// that other users may access.
func FileSealer(path string) (Sealer, error) {
	key, err := sealingKey(path)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	return sealerOf(key)
}

// NewSealer returns a Sealer that uses AES-256-GCM with a random key that is
// never stored. It is for tables in memory.
func NewSealer() Sealer {
	key := make([]byte, sealingKeySize)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	s, _ := sealerOf(key)
	return s
}

// sealerOf returns a Sealer that uses AES-256-GCM with the key.
func sealerOf(key []byte) (Sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	return fileSealer{aead}, nil
}

// Seal implements Sealer.
func (s fileSealer) Seal(_ context.Context, keyID string, plain []byte) ([]byte, error) {
	return s.aead.Seal(nil, nil, plain, []byte(keyID)), nil
}

// Open implements Sealer.
func (s fileSealer) Open(_ context.Context, keyID string, sealed []byte) ([]byte, error) {
	plain, err := s.aead.Open(nil, nil, sealed, []byte(keyID))
	if err != nil {
		return nil, fmt.Errorf("opening a signing key: %w", err)
	}
	return plain, nil
}

// sealingKey reads the file. If there is none, it writes a complete temporary
// file and links it to the name. Two processes that start at the same time
// therefore use the same key.
func sealingKey(path string) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(fresh.Name()) }()
	key = make([]byte, sealingKeySize)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	_, err = fresh.Write(key)
	if err = errors.Join(err, fresh.Sync(), fresh.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(fresh.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(path)
}

// readKey reads a sealing key from a file that no other user may access.
func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users may access %s; run chmod 600 on it", path)
	}
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(key) != sealingKeySize {
		return nil, fmt.Errorf("%s is not a sealing key: it has %d bytes, expected %d", path, len(key), sealingKeySize)
	}
	return key, nil
}
