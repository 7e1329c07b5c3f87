package platform_test

import (
	"bytes"
	"image"
	"image/png"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/upload"
	"parley/persistence"
)

func drawing(t testing.TB, side int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pictures counts what is kept.
func pictures(w *actortest.World) int {
	w.T.Helper()
	rows, err := w.Store.Documents(ctx, persistence.CollectionUpload, persistence.Range{})
	if err != nil {
		w.T.Fatal(err)
	}
	return len(rows)
}

func TestPictures(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	bot, _ := makeAgent(w, ann, "bot")
	set := func(field account.PictureField, data []byte) string {
		t.Helper()
		at, err := w.Platform.SetPicture(ctx, ann, field, data)
		if err != nil || !strings.HasPrefix(at, "https://api.test/uploads/") {
			t.Fatal(at, err)
		}
		return at
	}
	first, data := set(account.AvatarField, drawing(t, 3)), drawing(t, 4)
	second, banner := set(account.AvatarField, data), set(account.BannerField, drawing(t, 5))
	p, err := w.Platform.Profile(ctx, ann.ID)
	if err != nil || *p.Avatar != second || *p.Banner != banner || pictures(w) != 2 {
		t.Fatalf("%+v, %v, %d pictures", p, err, pictures(w))
	}
	_, err = w.Platform.Picture(ctx, path.Base(first))
	actortest.Wants(t, "the earlier one", err, kernel.CodeNotFound)
	w.Crash()
	got, err := w.Platform.Picture(ctx, path.Base(second))
	if err != nil || !bytes.Equal(got.Data, data) || got.Format.MediaType() != "image/png" {
		t.Fatal(got, err)
	}
	for _, file := range []string{"", "x", path.Base(second) + "x", strings.TrimSuffix(path.Base(second), "png") + "jpg", strings.Repeat("0", 32) + ".png"} {
		_, err := w.Platform.Picture(ctx, file)
		actortest.Wants(t, file, err, kernel.CodeNotFound)
	}
	_, err = w.Platform.SetPicture(ctx, ann, account.AvatarField, []byte("GIF89a"))
	actortest.Wants(t, "no picture", err, kernel.CodeMediaType)

	// A client that sends the whole profile back keeps its picture; somebody else's address is a link like any other.
	text := func(s string) *string { return &s }
	if p, err = w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{Avatar: text(second), Theme: text("dark")}); err != nil || *p.Avatar != second || pictures(w) != 2 {
		t.Fatalf("%+v, %v, %d pictures", p, err, pictures(w))
	}
	if p, err = w.Platform.UpdateProfile(ctx, bot, account.ProfileUpdate{Avatar: text(second)}); err != nil || *p.Avatar != second {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err = w.Platform.UpdateProfile(ctx, bot, account.ProfileUpdate{Avatar: text("")}); err != nil || p.Avatar != nil || pictures(w) != 2 {
		t.Fatalf("clearing a link to somebody else's: %+v, %v, %d pictures", p, err, pictures(w))
	}
	_, err = w.Platform.UpdateProfile(ctx, bot, account.ProfileUpdate{Avatar: text("/uploads/" + path.Base(second))})
	actortest.Wants(t, "a bare path", err, kernel.CodeInvalid)

	if p, err = w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{Avatar: text("https://x.test/a.png"), Banner: text("")}); err != nil || *p.Avatar != "https://x.test/a.png" || p.Banner != nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if pictures(w) != 0 {
		t.Errorf("%d pictures are left", pictures(w))
	}
	set(account.AvatarField, data)
	set(account.BannerField, data)
	if _, err := w.Platform.SetPicture(ctx, bot, account.AvatarField, data); err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil || pictures(w) != 0 {
		t.Errorf("%v, %d pictures outlive the account and its agent", err, pictures(w))
	}
	_, err = w.Platform.SetPicture(ctx, ann, account.AvatarField, data)
	actortest.Wants(t, "of the deleted", err, kernel.CodeUnauthorized)
	if pictures(w) != 0 {
		t.Error("a picture of nobody is kept")
	}
}

// A picture of nearly 2 MB comes back as it was, also after a crash.
func TestLargePicture(t *testing.T) {
	const side = 1430
	w := actortest.New(t)
	ann, noise := w.User("ann"), image.NewGray(image.Rect(0, 0, side, side))
	for i := range noise.Pix {
		noise.Pix[i] = byte(rand.Uint32())
	}
	var b bytes.Buffer
	if err := png.Encode(&b, noise); err != nil || b.Len() > upload.MaxBytes || b.Len() < upload.MaxBytes*9/10 {
		t.Fatal(b.Len(), err)
	}
	at, err := w.Platform.SetPicture(ctx, ann, account.BannerField, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	w.Crash()
	if p, err := w.Platform.Picture(ctx, path.Base(at)); err != nil || !bytes.Equal(p.Data, b.Bytes()) {
		t.Errorf("after the crash: %v", err)
	}
	w.Restart()
	if p, err := w.Platform.Picture(ctx, path.Base(at)); err != nil || !bytes.Equal(p.Data, b.Bytes()) {
		t.Errorf("after the restart: %v", err)
	}
}

// Several uploads at once leave one picture, that of the profile; and the log does not carry the bytes.
func TestPicturesAtOnce(t *testing.T) {
	w := actortest.New(t)
	ann, data := w.User("ann"), drawing(t, 600)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			field := account.AvatarField
			if i%2 == 0 {
				field = account.BannerField
			}
			if _, err := w.Platform.SetPicture(ctx, ann, field, data); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p, err := w.Platform.Profile(ctx, ann.ID)
	if err != nil || pictures(w) != 2 {
		t.Fatalf("%d pictures, %v", pictures(w), err)
	}
	for _, link := range []*string{p.Avatar, p.Banner} {
		if _, err := w.Platform.Picture(ctx, path.Base(*link)); err != nil {
			t.Error(err)
		}
	}
	events, err := w.Store.Events(ctx, persistence.Stream(persistence.StreamAccount, ann.ID), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if len(e.Data) > 1000 {
			t.Errorf("an event %s of %d bytes", e.Kind, len(e.Data))
		}
	}
}
